PyGetSetDef ${name}_properties[] = {
    THP_FUNCTION_DEFAULT_PROPERTIES,
    ${getters}
    {nullptr},
};
