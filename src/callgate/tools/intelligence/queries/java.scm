; What a Java file defines, and where it names something.
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

(identifier) @reference.name
(type_identifier) @reference.type
(field_access field: (identifier) @reference.attribute)
(method_invocation name: (identifier) @reference.call)
(method_reference (identifier) @reference.attribute)
(object_creation_expression type: (type_identifier) @reference.call)
(object_creation_expression type: (generic_type (type_identifier) @reference.call))
(superclass (type_identifier) @reference.inherit)
(superclass (generic_type (type_identifier) @reference.inherit))
(super_interfaces (type_list (type_identifier) @reference.inherit))
(super_interfaces (type_list (generic_type (type_identifier) @reference.inherit)))
(extends_interfaces (type_list (type_identifier) @reference.inherit))
(import_declaration (scoped_identifier name: (identifier) @reference.import))
