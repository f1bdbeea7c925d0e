; What extract/cpp.py reads from one C++/CUDA file in one pass. A capture's name says what is done with it.

; scopes: namespaces and classes, to qualify what stands in them
(namespace_definition) @namespace
(class_specifier name: (_) body: (_)) @class
(struct_specifier name: (_) body: (_)) @class

; function definitions, methods, operator() and macro-headed ones (TORCH_IMPL_FUNC(x)(...) {...})
(function_definition body: (compound_statement)) @function

; every call, and the <<<...>>> of a launch
(call_expression function: (_) @callee)
(call_expression arguments: (argument_list) @arguments)
(kernel_call_syntax) @launch

; what gives a local name its type
(declaration) @declaration
(lambda_expression declarator: (_) @lambda_head)
(for_range_loop) @range_for
(field_declaration) @field

; conditions that guard what stands below them
(if_statement) @if
(case_statement) @case
(conditional_expression) @ternary

; Foo<T>{...}: a class constructed in braces
(compound_literal_expression type: (_) @constructed)

; operators that may be Tensor operators
(binary_expression) @binary
(assignment_expression) @assignment

; aliases and visibility
(using_declaration) @using
(alias_declaration) @alias
(type_definition) @typedef
(namespace_alias_definition) @nsalias

; x[i] and -x: methods of Tensor when x is one
(subscript_expression) @subscript
(unary_expression operator: ["-" "~"]) @unary
