"""The C++ and Python generated from a model. Consumes the facts of the model and adds none.

Begin with :mod:`derivlint.emit.emission`, which writes one of two sets of files with a manifest. The terms are the
kernel of an operator (``kernels``), the node that it creates (``nodes``), the release whose C++ API the code is written
for (``release``), the template that is filled (``template``), and the manifest of a written folder (``manifest``).

    extension        a library that overrides kernels of an installed PyTorch, with CMakeLists.txt
    in_tree          the files in torch/csrc/autograd/generated of a PyTorch build
    nodes            a node class for each DifferentiabilityInfo: members, apply, release; PyTorch's Functions.h/.cpp
    kernels          an autograd kernel for each function and dispatch key
    inplace_or_view  the kernels under ADInplaceOrView
    own_operators    functions that call operators of other namespaces than PyTorch's
    view_funcs       objects that recreate a view of another base
    python_bindings  the Python attributes of nodes, such as grad_fn._saved_self
    python           a torch.autograd.Function for each entry
    helpers          functions of FunctionsManual.cpp that PyTorch's libraries do not export
    template         C++ templates with ${placeholders}
    places           the map from emitted formulas to characters of the YAML, and #line directives on request
    release          what differs between the C++ APIs of PyTorch releases
    single           the code of one operator, for ``derivlint show``
"""
