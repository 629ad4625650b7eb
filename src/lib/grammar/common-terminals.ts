// The terminals of `%import common.NAME`, as patterns. They are those of Lark's own library, written without lookarounds
// and lazy quantifiers, which our dialect refuses: a string ends at its first unescaped quote, and a comment at its first
// end mark.

const DIGITS = '[0-9]+'
const EXPONENT = `[eE][+-]?${DIGITS}`
const DECIMAL = `(?:${DIGITS}\\.(?:${DIGITS})?|\\.${DIGITS})`
const FLOAT = `(?:${DIGITS}${EXPONENT}|${DECIMAL}(?:${EXPONENT})?)`
const ANY_NUMBER = `(?:${FLOAT}|${DIGITS})`

export const COMMON_TERMINALS: ReadonlyMap<string, string> = new Map([
  ['DIGIT', '[0-9]'],
  ['HEXDIGIT', '[0-9a-fA-F]'],
  ['INT', DIGITS],
  ['SIGNED_INT', `[+-]?${DIGITS}`],
  ['DECIMAL', DECIMAL],
  ['FLOAT', FLOAT],
  ['SIGNED_FLOAT', `[+-]?${FLOAT}`],
  ['NUMBER', ANY_NUMBER],
  ['SIGNED_NUMBER', `[+-]?${ANY_NUMBER}`],
  ['ESCAPED_STRING', '"(?:[^"\\\\\\n]|\\\\.)*"'],
  ['LCASE_LETTER', '[a-z]'],
  ['UCASE_LETTER', '[A-Z]'],
  ['LETTER', '[A-Za-z]'],
  ['WORD', '[A-Za-z]+'],
  ['CNAME', '[_A-Za-z][_A-Za-z0-9]*'],
  ['WS_INLINE', '[ \\t]+'],
  ['WS', '[ \\t\\f\\r\\n]+'],
  ['CR', '\\r'],
  ['LF', '\\n'],
  ['NEWLINE', '(?:\\r?\\n)+'],
  ['SH_COMMENT', '#[^\\n]*'],
  ['CPP_COMMENT', '//[^\\n]*'],
  ['C_COMMENT', '/\\*[^*]*\\*+(?:[^/*][^*]*\\*+)*/'],
  ['SQL_COMMENT', '--[^\\n]*'],
])
