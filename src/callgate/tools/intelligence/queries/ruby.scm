; What a Ruby file defines, and where it names something.
(class name: (_) @name) @definition.class
(module name: (_) @name) @definition.module
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
(alias name: (_) @name) @definition.function
(assignment left: (constant) @name) @definition.constant
((call method: (identifier) @maker arguments: (argument_list (simple_symbol) @name)) @definition.field
  (#any-of? @maker "attr_accessor" "attr_reader" "attr_writer"))

(identifier) @reference.name
(constant) @reference.type
(call method: (identifier) @reference.call)
(call method: (constant) @reference.call)
(superclass (constant) @reference.inherit)
(superclass (scope_resolution name: (constant) @reference.inherit))
((call method: (identifier) @maker arguments: (argument_list (constant) @reference.inherit))
  (#any-of? @maker "include" "extend" "prepend"))
