; What a JavaScript file defines, and where it names something.
(class_declaration name: (identifier) @name) @definition.class
(class name: (identifier) @name) @definition.class
(method_definition name: (_) @name) @definition.method
(field_definition property: (_) @name) @definition.field
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(program [(lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
          (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable)])
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)))
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @definition.function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @definition.function

[(identifier) (shorthand_property_identifier)] @reference.name
(member_expression property: (property_identifier) @reference.attribute)
(call_expression function: (identifier) @reference.call)
(call_expression function: (member_expression property: (property_identifier) @reference.call))
(new_expression constructor: (identifier) @reference.call)
(new_expression constructor: (member_expression property: (property_identifier) @reference.call))
(class_heritage (identifier) @reference.inherit)
(class_heritage (member_expression property: (property_identifier) @reference.inherit))
(import_specifier name: (identifier) @reference.import)
(import_clause (identifier) @reference.import)
(namespace_import (identifier) @reference.import)
