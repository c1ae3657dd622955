_view_func = std::make_unique<view_funcs::${view_func}>(${arguments});
