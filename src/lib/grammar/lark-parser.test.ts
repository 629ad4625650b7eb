// Bad grammars. Each error says what is wrong, where, and what to write instead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGrammar, GrammarError } from './index.ts'

type Bad = { definition: string; line: number; column: number; says: RegExp }

const BAD: Record<string, Bad> = {
  'no start rule': { definition: 'a: "x"', line: 1, column: 1, says: /no rule named start/ },
  'an empty grammar': { definition: '', line: 1, column: 1, says: /no rule named start/ },
  'an undefined rule': { definition: 'start: "a"\n  | b', line: 2, column: 5, says: /rule b is not defined/ },
  'an undefined terminal': { definition: 'start: WS', line: 1, column: 8, says: /%import common\.WS/ },
  'an undefined terminal in an unused terminal': {
    definition: 'start: "a"\nA: B',
    line: 2,
    column: 4,
    says: /terminal B is not defined/,
  },
  'a rule defined twice': {
    definition: 'start: "a"\nstart: "b"',
    line: 2,
    column: 1,
    says: /already defined at line 1/,
  },
  'a name of mixed case': { definition: 'start: fooBar', line: 1, column: 8, says: /mixes cases/ },
  'a recursive terminal': {
    definition: 'start: A\nA: "a" B\nB: A',
    line: 2,
    column: 1,
    says: /contains itself/,
  },
  'a rule in a terminal': {
    definition: 'start: A\nA: start',
    line: 2,
    column: 4,
    says: /cannot contain the rule/,
  },
  'a template': { definition: 'start: list{"a"}', line: 1, column: 12, says: /templates/ },
  'a template definition': { definition: 'list{x}: x\nstart: "a"', line: 1, column: 5, says: /templates/ },
  'a declared terminal': {
    definition: 'start: A\n%declare A',
    line: 2,
    column: 1,
    says: /%declare is not supported/,
  },
  'an embedded schema': {
    definition: 'start: a\n%json {}',
    line: 2,
    column: 1,
    says: /%json is not supported/,
  },
  'an unknown library': {
    definition: 'start: A\n%import python.A',
    line: 2,
    column: 9,
    says: /only the library "common"/,
  },
  'a relative import': {
    definition: 'start: A\n%import .my.A',
    line: 2,
    column: 9,
    says: /only the library "common"/,
  },
  'an unknown common terminal': {
    definition: '%import common.FOO',
    line: 1,
    column: 16,
    says: /it has DIGIT/,
  },
  'an unclosed string': { definition: 'start: "a\n', line: 1, column: 8, says: /string is not closed/ },
  'an unclosed pattern': { definition: 'start: /a\n', line: 1, column: 8, says: /expression is not closed/ },
  'an unclosed group': {
    definition: 'start: ("a" | "b"\n',
    line: 2,
    column: 1,
    says: /close "\(" of line 1, column 8/,
  },
  'a stray bracket': { definition: 'start: "a" )', line: 1, column: 12, says: /found "\)"/ },
  'single quotes': { definition: "start: 'a'", line: 1, column: 8, says: /double quotes/ },
  'an unknown escape': { definition: 'start: "ab\\q"', line: 1, column: 11, says: /escape \\q is unknown/ },
  'a missing colon': { definition: 'start "a"', line: 1, column: 7, says: /expected ":"/ },
  'a line that continues nothing': {
    definition: 'start: "a"\n  "b"',
    line: 2,
    column: 3,
    says: /starts with \|/,
  },
  'a double operator': { definition: 'start: "a"+*', line: 1, column: 12, says: /found "\*"/ },
  'a reversed count': { definition: 'start: "a"~3..2', line: 1, column: 11, says: /from 3 to 2/ },
  'an endless count': { definition: 'start: "a"~99999999', line: 1, column: 12, says: /between 0 and/ },
  'a long range end': { definition: 'start: "a".."bc"', line: 1, column: 13, says: /exactly one character/ },
  'a reversed range': { definition: 'start: "z".."a"', line: 1, column: 8, says: /range is empty/ },
  'options on a rule': { definition: 'start[lazy]: "a"', line: 1, column: 6, says: /options in \[ \]/ },
  'a special token': { definition: 'start: <|end|>', line: 1, column: 8, says: /special tokens/ },
  'a lookahead': { definition: 'start: "a"\n | /ab(?=c)/', line: 2, column: 7, says: /lookarounds/ },
  'a lookbehind': { definition: 'start: /(?<!a)b/', line: 1, column: 9, says: /lookarounds/ },
  'a lazy quantifier': { definition: 'start: /a.*?b/', line: 1, column: 11, says: /lazy quantifier \*\?/ },
  'a lazy count': { definition: 'start: /a{2,3}?/', line: 1, column: 10, says: /lazy quantifier/ },
  'a back reference': { definition: 'start: /(a)\\1/', line: 1, column: 12, says: /back references/ },
  'an atomic group': { definition: 'start: /(?>a)/', line: 1, column: 9, says: /kind of group/ },
  'an inner anchor': { definition: 'start: /a^b/', line: 1, column: 10, says: /assertion \^/ },
  'a word boundary': { definition: 'start: /\\ba/', line: 1, column: 9, says: /assertion \\b/ },
  'a repeated anchor': { definition: 'start: /(^a)*/', line: 1, column: 10, says: /assertion \^/ },
  'an unknown flag': { definition: 'start: /a/l', line: 1, column: 8, says: /flag "l"/ },
  'an unclosed class': { definition: 'start: /a[bc/', line: 1, column: 10, says: /class is not closed/ },
  'an unclosed regex group': { definition: 'start: /a(b/', line: 1, column: 10, says: /group is not closed/ },
  'a stray regex bracket': { definition: 'start: /ab)/', line: 1, column: 11, says: /closes no group/ },
  'an unknown property': { definition: 'start: /\\p{Nope}/', line: 1, column: 8, says: /RE2's dialect/ },
  'a pattern too large': {
    definition: 'start: /((a{500}){2}b{900}){200}/',
    line: 1,
    column: 28,
    says: /too large/,
  },
  'rules too large': {
    definition: 'start: a a\na: "a"~9999 "b"~9999 "c"~9999 "d"~9999 "e"~9999 "f"~9999',
    line: 2,
    column: 4,
    says: /rules are too large/,
  },
}

for (const [name, { definition, line, column, says }] of Object.entries(BAD)) {
  test(`refuses ${name}`, () => {
    assert.throws(
      () => compileGrammar('lark', definition),
      (error: unknown) => {
        assert.ok(error instanceof GrammarError)
        assert.match(error.message, says)
        assert.deepEqual({ line: error.line, column: error.column }, { line, column }, error.message)
        assert.ok(error.message.includes(`line ${line}, column ${column}`))
        return true
      },
    )
  })
}
