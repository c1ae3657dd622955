// ${origin}
${return_type} ${name}(${formals}) {
  ${body}
}
