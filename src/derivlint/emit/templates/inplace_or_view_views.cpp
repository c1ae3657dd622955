auto _views = [&] {
  at::AutoDispatchBelowADInplaceOrView guard;
  return ${call};
}();
for (const auto view_idx : c10::irange(static_cast<int64_t>(_views.size()))) {
  ${replay}
  as_view(${arguments});
}
return _views;
