// Small complete languages, as tools declare them, with texts that they accept and refuse.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGrammar } from './index.ts'

type Language = { definition: string; accepts: string[]; refuses: string[] }

const LANGUAGES: Record<string, Language> = {
  arithmetic: {
    definition: `
      // precedence by layers
      ?start: sum
      ?sum: product | sum "+" product -> add | sum "-" product -> sub
      ?product: atom
          | product "*" atom -> mul
          | product "/" atom -> div
      ?atom: NUMBER -> number | "-" atom -> neg | "(" sum ")"
      %import common.NUMBER
      %import common.WS_INLINE
      %ignore WS_INLINE`,
    accepts: ['1', ' 1 + 2*3 ', '-(4 - .5e3)/7', '((((1))))'],
    refuses: ['', '1 +', '(1', '1 2', '1\n+2', '+ 1'],
  },
  json: {
    definition: `
      start: value
      ?value: object | array | string | SIGNED_NUMBER | "true" | "false" | "null"
      array: "[" [value ("," value)*] "]"
      object: "{" [pair ("," pair)*] "}"
      pair: string ":" value
      string: ESCAPED_STRING
      %import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
      %ignore WS`,
    accepts: ['{}', '[1, -2.5, {"a": [null, true]}]', '"say \\"hi\\" \\\\"', ' { "k" : "v" } \n'],
    refuses: ['{', '[1,]', '{"a"}', '"a', '"a\nb"', 'nul', '"a"b"'],
  },
  'a select statement': {
    definition: `
      start: "select"i columns "from"i NAME [where] ";"?
      columns: "*" | NAME ("," NAME)*
      where: "where"i condition (("and"i | "or"i) condition)*
      condition: NAME OPERATOR (NAME | NUMBER | STRING)
      OPERATOR: "=" | "<>" | "<" "="? | ">" "="?
      STRING: "'" /[^']*/ "'"
      NAME: CNAME ("." CNAME)?
      %import common.CNAME
      %import common.INT -> NUMBER
      %import common.WS
      %import common.SQL_COMMENT
      %ignore WS
      %ignore SQL_COMMENT`,
    accepts: [
      'select * from t',
      "SELECT a, t.b FROM t WHERE a >= 10 and b = 'x y' -- why\n;",
      'select a from t where a<>b OR c<1',
    ],
    refuses: [
      'select from t',
      'select a b from t',
      'delete from t',
      'select a from t where',
      "select a from t where a='x",
    ],
  },
  'an inline subset with # comments, priorities and both prefixes': {
    definition: `# the whole
      start: item+
      !item.2: KEY "=" value # one line
      ?value: WORD
        // a comment between alternatives
        | INT

        | "[" [value ("," value)~0..2] "]"
      KEY.10: "a".."f"~2
      %import common.WORD
      %import common.INT
      %ignore / +/`,
    accepts: ['ab=1', 'ab = xyz cd=[1, 2,x]', 'ff=[]ff=[[[1]]]'],
    refuses: ['a=1', 'ag=1', 'ab=[1,2,3,4]', ''],
  },
  unicode: {
    definition: String.raw`
      start: GREETING " " NAME "🎉"{1,3} "\u00e9"
      GREETING: "grüß"i | "こんにちは"
      NAME: /\w+/ ("α".."ω")+`,
    accepts: ['GRÜß Zoëλ🎉é', 'こんにちは 名前ω🎉🎉🎉é'],
    refuses: ['grüss Zoëλ🎉é', 'grüß Zoë🎉é', 'grüß Zoëλé', 'grüß Zoëλ🎉🎉🎉🎉é'],
  },
  'nested optionals': {
    definition: 'start: ["a" ["b" ["c"]]] ("d" ("e"?)?)?',
    accepts: ['', 'a', 'ab', 'abc', 'd', 'abde', 'ade'],
    refuses: ['b', 'ac', 'abcc', 'e', 'ae'],
  },
  repetitions: {
    definition: 'start: "a"~2 "b"~1..3 "c"{2,} "d"{,2} "e"{2} /f{2,3}/',
    accepts: ['aabcceeff', 'aabbbccccddeefff'],
    refuses: ['abcceeff', 'aabbbbcceeff', 'aabceeff', 'aabccdddeeff', 'aabcceff', 'aabcceef'],
  },
  'zero-width terminals': {
    definition: 'start: /(.*)/ "x"* /a?/ "" END\nEND: ";"?',
    accepts: ['', 'anything xx', ';', 'a;', 'xxa;'],
    refuses: ['\n', 'a\n;'],
  },
  'terminals that overlap': {
    definition: 'start: /[a-z]+/ /[a-z]+/ "z" LF /.+/ /[^;]*/ ";"\n%import common.LF',
    accepts: ['abz\nx;', 'zzz\nx;\ny;', 'keywordz\n;;'],
    refuses: ['az\nx;', 'abz\n;', 'abzx;'],
  },
  'flags of terminals': {
    definition: `
      start: A B C
      A: /^ab$/i
      B: /a.b/s
      C: / [0-9]+   # digits
           (?: x | y ) /x`,
    accepts: ['Aba\nb12x', 'aba.b0y'],
    refuses: ['aba\nB12x', 'aba\nb 12x', 'aba\nb12xx'],
  },
  'common comments and numbers': {
    definition: `
      start: (C_COMMENT | CPP_COMMENT | SH_COMMENT | NEWLINE | SIGNED_FLOAT | HEXDIGIT)*
      %import common (C_COMMENT, CPP_COMMENT, SH_COMMENT, NEWLINE, SIGNED_FLOAT, HEXDIGIT)`,
    accepts: ['/* a ** / b */', '/***/\n// x\r\n# y', '-1.5e+3', '1e5', 'f'],
    refuses: ['/* a', '/*/', '-', 'g'],
  },
  'a grammar that accepts nothing': { definition: 'start: start "a"', accepts: [], refuses: ['', 'a', 'aa'] },
}

for (const [name, { definition, accepts, refuses }] of Object.entries(LANGUAGES)) {
  const recogniser = compileGrammar('lark', definition)
  test(name, () => {
    for (const text of accepts) assert.equal(recogniser.match(text)?.message, undefined, text)
    for (const text of refuses) assert.notEqual(recogniser.match(text), null, `should refuse ${text}`)
  })
}

test('Windows line ends and continued lines do not change a grammar', () => {
  const recogniser = compileGrammar('lark', 'start: a \\\r\n  b\r\na: "1"\r\n | "2"\r\nb: "x"\r\n')
  assert.equal(recogniser.match('2x'), null)
  assert.notEqual(recogniser.match('2'), null)
})
