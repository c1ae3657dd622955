"""How formulas depend on gradients, tangents and arguments, and mistakes in it.

* linearity (``linearity``, ``automatic``): formulas that are not linear in the seeds, and declarations that they are.
* conjugation (``conjugation``): complex factors that are conjugated wrongly.
* alias (``aliasing``): tangents that share memory with inputs, and writes to tensors that others may use.
* undefined tensor (``undefined_tensors``): a gradient or optional argument that is read without a guard.
* missing part (``missing``, ``arguments``): omitted gradients, tangents, factors, casts or formulas.
* statistics (``statistics``): outputs without gradient that forward formulas read.
"""
