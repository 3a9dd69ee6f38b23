; What a Python file defines, and where it names something.
((decorated_definition (decorator [(identifier) @how (attribute attribute: (identifier) @how)])
    definition: (function_definition name: (identifier) @name) @definition.declaration)
  (#eq? @how "overload"))
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @definition.variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @definition.variable))
(module (type_alias_statement left: (type (identifier) @name)) @definition.type)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition.field)))
((assignment left: (attribute object: (identifier) @self attribute: (identifier) @name)) @definition.field
  (#any-of? @self "self" "cls"))

(identifier) @reference.name
(attribute attribute: (identifier) @reference.attribute)
(type (identifier) @reference.type)
(call function: (identifier) @reference.call)
(call function: (attribute attribute: (identifier) @reference.call))
(decorator (identifier) @reference.call)
(decorator (attribute attribute: (identifier) @reference.call))
(class_definition superclasses: (argument_list (identifier) @reference.inherit))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @reference.inherit)))
(import_statement name: (dotted_name (identifier) @reference.module))
(import_from_statement name: (dotted_name (identifier) @reference.import))
(import_from_statement module_name: (dotted_name (identifier) @reference.module))
(aliased_import name: (dotted_name (identifier) @reference.import))
