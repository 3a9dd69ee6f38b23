; What a C++ file defines, and where it names something.
(function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (destructor_name)] @name)) @definition.function
(function_definition declarator: (_ (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))) @definition.function
(function_definition declarator: (function_declarator declarator: (qualified_identifier) @name)) @definition.function
(function_definition declarator: (_ (function_declarator declarator: (qualified_identifier) @name))) @definition.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.declaration
(declaration declarator: (_ (function_declarator declarator: (identifier) @name))) @definition.declaration
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @definition.declaration
(field_declaration declarator: (_ (function_declarator declarator: (field_identifier) @name))) @definition.declaration
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(namespace_definition name: (_) @name) @definition.module
(type_definition declarator: (type_identifier) @name) @definition.type
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (_ (field_identifier) @name)) @definition.field
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable))

(identifier) @reference.name
(namespace_identifier) @reference.name
(type_identifier) @reference.type
(field_expression field: (field_identifier) @reference.attribute)
(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression field: (field_identifier) @reference.call))
(call_expression function: (qualified_identifier name: (identifier) @reference.call))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @reference.call)))
(call_expression function: (template_function name: (identifier) @reference.call))
(new_expression type: (type_identifier) @reference.call)
(base_class_clause (type_identifier) @reference.inherit)
(base_class_clause (qualified_identifier name: (type_identifier) @reference.inherit))
(using_declaration (qualified_identifier name: (identifier) @reference.import))
