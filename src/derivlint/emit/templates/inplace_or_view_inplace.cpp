{
  at::AutoDispatchBelowADInplaceOrView guard;
  ${call};
}
${versions}
${result}
