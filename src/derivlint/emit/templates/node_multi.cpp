if (${any_needed}) {
  ${mask}
  auto grad_result = ${value};
  ${copies}
}
