import assert from 'node:assert/strict'
import test from 'node:test'
import { isLinkLocal, isPublicAddress } from './addresses.ts'

test('public addresses', () => {
  for (const address of ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])
    assert.equal(isPublicAddress(address), true, address)
})

test('addresses of private, local, shared, documentation and multicast networks are not public', () => {
  const four = ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254']
  const more = ['172.16.0.1', '172.31.255.255', '192.168.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255']
  const six = ['::', '::1', 'fe80::1', 'fc00::1', 'fd12::1', 'ff02::1', '2001:db8::1']
  for (const address of [...four, ...more, ...six]) assert.equal(isPublicAddress(address), false, address)
})

test('an IPv6 address that carries an IPv4 address is not public, whatever it carries', () => {
  for (const address of [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])
    assert.equal(isPublicAddress(address), false, address)
})

test('what is no address is not public', () => {
  for (const text of ['', 'localhost', '1.2.3', '0x7f.1', '[::1]'])
    assert.equal(isPublicAddress(text), false, text)
})

test('link-local addresses, in every spelling', () => {
  for (const address of [
    '169.254.169.254',
    'fe80::1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    'fd00:ec2::254',
  ])
    assert.equal(isLinkLocal(address), true, address)
  for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])
    assert.equal(isLinkLocal(address), false, address)
})
