; Everything that the Python extractor reacts to, under one capture: definitions and their decorators, imports,
; assignments, calls, operators that a Tensor overloads, and the statements that give a guard or bind a name.
[
  (class_definition)
  (function_definition)
  (decorator)
  (import_statement)
  (import_from_statement)
  (if_statement)
  (elif_clause)
  (else_clause)
  (while_statement)
  (for_statement)
  (list_comprehension)
  (generator_expression)
  (set_comprehension)
  (dictionary_comprehension)
  (assert_statement)
  (raise_statement)
  (return_statement)
  (assignment)
  (augmented_assignment)
  (named_expression)
  (call)
  (subscript)
  (binary_operator)
  (unary_operator)
  (not_operator)
  (comparison_operator)
  (conditional_expression)
  (boolean_operator)
] @event

; An attribute handed over as a value: `partial(F.gelu, …)`, `activation=F.relu`. All other attributes are read as
; parts of the calls and operators around them.
(argument_list (attribute) @event)
(keyword_argument value: (attribute) @event)

; What the grammar could not read: counted, and the rest of the file is still used.
(ERROR) @error
