"""What vulture takes for unused and is not, with who uses it. Read by .ci/dead-code, never run."""

# ruff: noqa: B018, F821 -- these are names, not a program

# the grammars name the methods that build the nodes of trees
_.list_start
_.list_more
_.list_next
_.no_bounds
_.name_global
_.name_arguments
_.name_more
_.no_parameters
_.parameter_intricate
_.template_empty
_.template_parameter
_.template_template
_.templated
_.entity
_.variable_start
_.variable_next
_.function_assigned
_.function_trailing
_.class_head
_.enumeration
_.namespace_inline
_.linkage
_.using_directive
_.using_declaration
_.alias_intricate
_.typedef
_.typedef_intricate
_.typedef_pointer
_.chain_start
_.chain_more
_.chain_more_cast
_.qualified_name
_.construct_simple
_.call_empty
_.postfix
_.empty_statement
_.block_empty
_.expression_statement
_.declaration_statement
_.declared_as
_.declared_of
_.declared_of_braces
_.return_nothing
_.if_then
_.if_else
_.while_loop
_.range_loop
_.for_loop
_.unknown_statement
_.lambda_return
_.lambda_opaque
_.braces_empty
_.qualified_global
_.qualified_pair
_.qualified_template
_.qualified_more
_.qualified_more_template
_.template_args_empty
_.type_token

# formula.analysis finds the methods of analyses by name
_.parenthesized
_.lambda_

# formats: the command takes them by the name of the format
_.render_github
_.render_gitlab
_.render_json_lines
_.render_junit
_.render_lintrunner
_.render_rdjson
_.render_rdjsonl
_.render_sarif

# rules/*.py: what the loader reads
_.META
_.VALID
_.INVALID
_.check

# arguments that Python, Lark and PyTorch pass
_.frame
_.lexer_conf
_.lexer_state
_.flip_order
_.src_geometry

# Lark asks for a lexer of that interface
_.lex

# Python asks modules for names that they do not have
_.__getattr__

# pygls finds the handlers of its own requests by their names
_.lsp_exit
_.lsp_text_document__did_open
_.lsp_text_document__did_change
_.lsp_text_document__did_close
_.report_server_error

# keeps the task alive
_._parent_watcher

# imported so that their decorators fill the table
_.FILLED_BY

# operators.evaluators: looked up by the kind of node
_._construct
_._parenthesized

# the description of a primitive, for whoever writes a definition
_.gives

# yaml_reader.lines: a field that is between others of a tuple
_.key_end

# yaml_reader.pure: what ruamel.yaml reads and calls
_.comment_handling
_.processing_version
_.doc_infos
_._resolver
_.scan_to_next_token
_.scan_anchor
_.scan_plain_spaces

# functional.library: what autograd asks a Function, and passes to it
_.generate_vmap_rule
grad_outputs

# click asks commands for the text of their help
_.format_options

# what native_functions.yaml says of a function, which indexes hold as well
_.manual_kernel_registration
_.category_override
_.device_guard

# torch.func asks a Function whether its rule for vmap is generated
_.generate_vmap_rule
__dir__
