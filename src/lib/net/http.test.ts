import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHost, checkOrigin, parseBearer } from './http.ts'

test('loopback names pass with any port and in any case', () => {
  for (const host of [
    'localhost',
    'LocalHost:8080',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:8080',
    '[0:0:0:0:0:0:0:1]',
  ]) {
    assert.equal(checkHost(host, []), true, host)
  }
})

test('names that only resemble a loopback name are refused', () => {
  const hostile = [
    'localhost.evil.test',
    'evil.test',
    'localhost@evil.test',
    'evil.test#localhost',
    'evil.test/localhost',
    'localhost:80:80',
    'localhost:x',
    '127.0.0.1.evil.test',
    '::1',
    'local host',
    '',
    undefined,
  ]
  for (const host of hostile) assert.equal(checkHost(host, []), false, String(host))
})

test('allowed hosts match exactly, with or without their port', () => {
  const allowed = ['api.example.test', 'admin.example.test:8443', 'fd00::1']
  assert.equal(checkHost('API.example.test:1234', allowed), true)
  assert.equal(checkHost('admin.example.test:8443', allowed), true)
  assert.equal(checkHost('admin.example.test', allowed), false)
  assert.equal(checkHost('x.api.example.test', allowed), false)
  assert.equal(checkHost('[fd00::1]:80', allowed), true)
})

test('no origin, the server’s own origin and allowed origins pass', () => {
  assert.equal(checkOrigin(undefined, [], 'localhost:3000'), true)
  assert.equal(checkOrigin('http://localhost:3000', [], 'localhost:3000'), true)
  assert.equal(checkOrigin('http://LOCALHOST:3000', [], 'localhost:3000'), true)
  assert.equal(checkOrigin('https://app.example.test', [], 'app.example.test'), true)
  assert.equal(checkOrigin('https://app.example.test', ['https://app.example.test/'], 'x'), false)
  assert.equal(checkOrigin('https://app.example.test', ['https://APP.example.test:443'], 'x'), true)
  assert.equal(checkOrigin('https://any.test', ['*'], 'x'), true)
})

test('opaque, foreign and malformed origins are refused', () => {
  for (const origin of [
    'null',
    '',
    'http://localhost:3001',
    'http://localhost:3000.evil.test',
    'http://localhost:3000@evil.test',
    'http://evil.test',
    'http://localhost:3000/',
    'file://',
    'localhost:3000',
  ]) {
    assert.equal(checkOrigin(origin, ['https://ok.test'], 'localhost:3000'), false, origin)
  }
  assert.equal(checkOrigin('null', ['*', 'null'], 'localhost'), false)
  assert.equal(checkOrigin('http://x', [], undefined), false)
})

test('parseBearer returns the token, "missing" or "malformed"', () => {
  assert.deepEqual(parseBearer('Bearer abc.DEF-1_2~+/=='), { token: 'abc.DEF-1_2~+/==' })
  assert.deepEqual(parseBearer('bearer x'), { token: 'x' })
  assert.equal(parseBearer(undefined), 'missing')
  assert.equal(parseBearer(''), 'missing')
  for (const header of ['Bearer', 'Bearer ', 'Basic abc', 'Bearer a b', 'Bearer a\nb', 'Bearer "a"', 'abc']) {
    assert.equal(parseBearer(header), 'malformed', header)
  }
})
