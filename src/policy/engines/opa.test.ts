// OPA's WebAssembly behind the contract of policy engines, evaluated by OPA's own package.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import makeAssembler from 'wabt'
import { deciderContract } from '../../../test/contracts/decider.ts'
import { opa } from './opa.ts'

const folder = mkdtempSync(join(tmpdir(), 'opa-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const assembler = await makeAssembler()
const source = readFileSync(new URL('../../../test/contracts/opa-policy.wat', import.meta.url), 'utf8')

function assemble(text = source): Uint8Array<ArrayBuffer> {
  return new Uint8Array(assembler.parseWat('policy.wat', text).toBinary({}).buffer)
}

deciderContract('OPA', {
  make: otherwise => opa({ wasm: assemble(), ...(otherwise && { otherwise }) }),
  makeOther: () => opa({ wasm: assemble(source.replace('More than 100.', 'Too much now.')) }),
  makeWrong: () => opa({ wasm: new Uint8Array([0, 1, 2]) }),
})

test('the policy may be a file, and its entry point and data count', async () => {
  const file = join(folder, 'policy.wasm')
  writeFileSync(file, assemble())
  const named = await opa({ wasm: file, entrypoint: 'turnwire/verdict' })
  const plain = await opa({ wasm: assemble() })
  const withData = await opa({ wasm: file, data: { limit: 5 } })
  assert.equal(new Set([named.version, plain.version, withData.version]).size, 3)
  await assert.rejects(
    opa({ wasm: file, entrypoint: 'other' }),
    /must be one of the policy: turnwire\/verdict/,
  )
  await assert.rejects(opa({ wasm: join(folder, 'missing.wasm') }), /missing\.wasm/)
})

test('a result that is no verdict fails the rule', async () => {
  const decide = await opa({ wasm: assemble() })
  const tool = { name: 'odd', kind: 'other', readOnly: true, destructive: false }
  const asked = { tool, input: {}, history: { turn: [], session: [] }, owner: 'ana' }
  assert.throws(() => decide(asked as never), /The policy gave \{"then":"perhaps"\}/)
})
