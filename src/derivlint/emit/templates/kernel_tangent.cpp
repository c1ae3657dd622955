${type} ${tangent} = ::std::nullopt;
if (${condition}) {
  ${unpack}
  ${tangent} = ${formula};
}
