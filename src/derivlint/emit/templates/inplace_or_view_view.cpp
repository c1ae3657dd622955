auto _view = [&] {
  at::AutoDispatchBelowADInplaceOrView guard;
  return ${call};
}();
${replay}
return as_view(${arguments});
