import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type BuiltInRedaction, createRedactor, type RedactRule } from './redact.ts'

function redact(text: string, ...rules: (RedactRule | BuiltInRedaction)[]): { text: string; count: number } {
  const tally = { count: 0 }
  const redactor = createRedactor(rules)
  assert.ok(redactor !== null)
  return { text: redactor(text, tally), count: tally.count }
}

// Built from pieces, so that secret scanners do not report this file.
const letters = 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY'
const jwt = `eyJ${letters}.eyJ${letters}.${letters}`
const pem = `-----BEGIN RSA PRIVATE KEY-----\n${letters}\n${letters}==\n-----END RSA PRIVATE KEY-----`

describe('built-in patterns', () => {
  for (const [set, secret] of [
    ['api-keys', `sk-${letters}`],
    ['api-keys', `sk-proj-${letters}_-x`],
    ['api-keys', `sk_live_${letters}`],
    ['api-keys', `ghp_${letters}abcd`],
    ['api-keys', `github_pat_${letters}`],
    ['api-keys', `xoxb-123456789-${letters}`],
    ['api-keys', `AIza${letters}abc`],
    ['bearer-tokens', `Bearer ${letters}`],
    ['bearer-tokens', `bearer   ${letters}/+==`],
    ['jwts', jwt],
    ['jwts', `eyJ${letters}..${letters}.${letters}.${letters}`],
    ['private-keys', pem],
    ['private-keys', pem.replaceAll('\n', '\\n')],
    ['private-keys', pem.replaceAll(' RSA ', ' ')],
    ['private-keys', pem.replaceAll('RSA PRIVATE KEY', 'PGP PRIVATE KEY BLOCK')],
    ['aws-keys', 'AKIA1234567890ABCDEF'],
  ] as const)
    test(`${set} finds ${secret.slice(0, 24).replaceAll('\n', ' ')}…`, () => {
      const expected = { text: `before [redacted: ${set}] after`, count: 1 }
      assert.deepEqual(redact(`before ${secret} after`, set), expected)
      const all = redact(`before ${secret} after`, 'secrets')
      assert.ok(!all.text.includes(letters.slice(0, 16)) && all.count >= 1)
    })

  for (const label of [
    'aws_secret_access_key = ',
    'AWS_SECRET_ACCESS_KEY=',
    '"SecretAccessKey": "',
    '\\"SecretAccessKey\\":\\"',
  ])
    test(`aws-keys finds the key after ${label}`, () => {
      assert.deepEqual(redact(`${label}${letters}ABCD/+gh`, 'aws-keys'), {
        text: `${label}[redacted: aws-keys]`,
        count: 1,
      })
    })

  test('a private key without an end is removed to the end of the text', () => {
    assert.equal(redact(`x ${pem.slice(0, 60)}`, 'private-keys').text, 'x [redacted: private-keys]')
  })

  for (const harmless of [
    'the task-runner-with-a-long-name is fine',
    'sk-short',
    'Bearer of good news',
    'bearer authentication-is-described-below',
    'a public -----BEGIN CERTIFICATE----- block',
    'ASIAN1234',
    'eyJ.not.one',
    'https://a.test/risk-assessment-of-everything',
  ])
    test(`nothing is found in: ${harmless}`, () => {
      assert.deepEqual(redact(harmless, 'secrets'), { text: harmless, count: 0 })
    })

  test('every match is counted', () => {
    const { text, count } = redact(`a sk-${letters}, b sk-${letters}; ${jwt}`, 'secrets')
    assert.equal(count, 3)
    assert.equal(text, 'a [redacted: api-keys], b [redacted: api-keys]; [redacted: jwts]')
  })
})

describe('an operator’s patterns', () => {
  const ssn: RedactRule = { name: 'ssn', pattern: '[0-9]{3}-[0-9]{2}-[0-9]{4}' }

  test('are replaced by their name, or by `replace`', () => {
    assert.deepEqual(redact('a 123-45-6789 b 987-65-4321', ssn), {
      text: 'a [redacted: ssn] b [redacted: ssn]',
      count: 2,
    })
    assert.equal(redact('a 123-45-6789', { ...ssn, replace: '$1 $& X' }).text, 'a $1 $& X')
    assert.equal(redact('a 123-45-6789', { ...ssn, replace: '' }).text, 'a ')
  })

  test('may be a RegExp, whose flags are used', () => {
    assert.equal(redact('Key=AbC', { name: 'k', pattern: /key=[a-z]+/i }).text, '[redacted: k]')
    assert.equal(redact('Key=AbC', { name: 'k', pattern: /key=[a-z]+/ }).text, 'Key=AbC')
    assert.equal(redact('a\nb', { name: 'k', pattern: /^b$/m }).text, 'a\n[redacted: k]')
    assert.equal(redact('a\nb', { name: 'k', pattern: /a.b/s }).text, '[redacted: k]')
  })

  test('do not split characters outside the Basic Multilingual Plane', () => {
    assert.equal(redact('😀 123-45-6789 😀', ssn).text, '😀 [redacted: ssn] 😀')
  })

  for (const [what, rule, message] of [
    ['no name', { name: '', pattern: 'a' }, /redact\[0\]\.name/],
    ['no pattern', { name: 'x' }, /redact\[0\]\.pattern must be a text or a RegExp/],
    ['look-ahead', { name: 'x', pattern: 'a(?=b)' }, /RE2 knows/],
    ['an open bracket', { name: 'x', pattern: '[' }, /redact\[0\]\.pattern is not a pattern/],
    ['a match of nothing', { name: 'x', pattern: 'a*' }, /matches the empty text/],
    ['the flag y', { name: 'x', pattern: /a/y }, /flag "y"/],
    ['a replacement that is no text', { name: 'x', pattern: 'a', replace: 5 }, /redact\[0\]\.replace/],
    ['an unknown set', 'passwords', /unknown set "passwords".*secrets, private-keys/],
    ['an inherited set', 'toString', /unknown set/],
  ] as const)
    test(`with ${what} are refused`, () => {
      // A configuration file can hold any value.
      const rules = [rule] as unknown as RedactRule[]
      assert.throws(() => createRedactor(rules), { code: 'config_invalid', message })
    })
})

test('without rules there is no redactor', () => assert.equal(createRedactor([]), null))
