// Colours of derivatives files: keys, schemas and formulas, a line at a time. derivlint's own parser does the judging.
import { StreamLanguage } from "@codemirror/language";

const GRADIENT = /^(?:grads?|grad_\w+|\w+_[pt]|result\d*)\b/;

export const derivatives = StreamLanguage.define({
  name: "derivatives",
  startState: () => ({ inValue: false, inSchema: false }),
  token(stream, state) {
    if (stream.sol()) {
      const indent = stream.indentation();
      const key = stream.match(/^\s*(?:- +)?([\w, ]+):(?=\s|$)/, false);
      if (key) state.inValue = state.inSchema = false;
      else if (indent === 0 && stream.peek() !== "#") state.inValue = false;
    }
    if (stream.eatSpace()) return null;
    if (stream.peek() === "#" && (stream.sol() || /\s/.test(stream.string[stream.pos - 1] ?? " "))) {
      stream.skipToEnd();
      return "comment";
    }
    if (!state.inValue) {
      if (stream.match(/^- +/)) return "punctuation";
      const key = stream.match(/^[\w, ]+(?=:(?:\s|$))/);
      if (key) {
        state.inSchema = ["name", "func"].includes(key[0].trim());
        return "propertyName";
      }
      if (stream.eat(":")) {
        state.inValue = true;
        return "punctuation";
      }
      stream.next();
      return null;
    }
    if (stream.match(/^(?:\d[\w.]*(?:e[+-]?\d+)?)/i)) return "number";
    if (stream.match(/^"(?:[^"\\]|\\.)*"/)) return "string";
    if (stream.match(/^(?:true|false|auto_linear|auto_element_wise|non_differentiable|not_implemented)\b/)) return "keyword";
    if (state.inSchema) {
      if (stream.match(/^(?:Tensor|Scalar|SymInt|int|float|bool|str|ScalarType|Generator|Dimname)\b/)) return "typeName";
    } else if (stream.match(GRADIENT)) return "variableName.special";
    if (stream.match(/^[A-Za-z_][\w:]*(?=\s*\()/)) return "variableName.function";
    if (stream.match(/^[A-Za-z_][\w:]*/)) return "variableName";
    if (stream.match(/^[-+*/%!<>=&|?:]+/)) return "operator";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" } },
});
