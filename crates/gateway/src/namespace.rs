//! Network namespaces without a name.
