; What extract/cpp_events.py reads from one C++/CUDA file in one walk. The (last) capture's name of a pattern says what
; is done with it. Most of the time goes into the walk itself: a pattern that begins with a named node costs little.

; scopes: namespaces and classes, to qualify what stands in them
(namespace_definition) @namespace
(class_specifier name: (_) body: (_)) @class
(struct_specifier name: (_) body: (_)) @class

; function definitions, methods, operator() and macro-headed ones (TORCH_IMPL_FUNC(x)(...) {...})
(function_definition body: (compound_statement)) @function

; every call; between the two of a launch stands <<<...>>>
(call_expression function: (_) @callee arguments: (argument_list) @arguments)

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
(assignment_expression operator: ["+=" "-=" "*=" "/=" "&=" "|=" "^="]) @assignment

; aliases and visibility
(using_declaration) @using
(alias_declaration) @alias
(type_definition) @typedef
(namespace_alias_definition) @nsalias

; x[i] and -x: methods of Tensor when x is one
(subscript_expression) @subscript
(unary_expression operator: ["-" "~"]) @unary
