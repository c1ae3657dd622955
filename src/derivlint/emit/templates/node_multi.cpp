if (${condition}) {
  ${mask}
  auto grad_result = ${value};
  ${copies}
}
