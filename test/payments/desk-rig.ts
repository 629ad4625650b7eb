// A desk and the engine that is paid, without a chain: the facilitator does what a test says, and everything else is real.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Caller } from '../../src/callers/caller.ts'
import { WorkLimits } from '../../src/callers/owner-limits.ts'
import type { Engine } from '../../src/engine/index.ts'
import { scripted, Turnwire } from '../../src/index.ts'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import type { Facilitator } from '../../src/payments/facilitator.ts'
import { PaidRequest, PaymentDesk, type PaymentsConfig, type Price } from '../../src/payments/index.ts'
import { PaidEngine } from '../../src/payments/paid-engine.ts'
import { memoryStore } from '../../src/stores/memory.ts'

export const payer = `0x${'ab'.repeat(20)}`
export const wallet = `wallet:${payer}`
const payTo = `0x${'cd'.repeat(20)}`
const asset = { address: `0x${'ef'.repeat(20)}`, name: 'Test', version: '2' }

export const exactPrice: Price = { payTo, perRequest: '10000' }
export const meteredPrice: Price = { payTo, inputToken: '1', outputToken: '4', cap: '1000000' }

export type PaidFor = (made: PaidRequest, over?: Partial<Caller>) => Engine

export type DeskOptions = {
  script?: readonly ScriptStep[]
  price?: Price
  facilitator?: Partial<Facilitator>
  config?: Partial<PaymentsConfig>
  /** The other processes that live. */
  others?: Set<string>
}

export const moves = async () => ({ state: 'moved' as const, transaction: '0x01' })

export async function openDesk(t: TestContext, options: DeskOptions = {}) {
  const shown = { asked: 0, price: options.price as Price | undefined }
  shown.price ??= exactPrice
  const steps = options.script ?? [{ text: 'Hello.', usage: { input: 100, output: 50 } }]
  const model = scripted(() => {
    shown.asked += 1
    return steps[Math.min(shown.asked, steps.length) - 1]
  })
  const turnwire = await Turnwire.open({ agents: [{ name: 'helper', model }], data: 'memory' })
  t.after(() => turnwire.close())
  const { engine } = runtimeOf(turnwire)
  const desk = new PaymentDesk({
    engine,
    store: memoryStore().payments,
    workers: { self: 'here', isAlive: worker => options.others?.has(worker) === true },
    config: { network: 'eip155:84532', asset, payTo, facilitator: { url: '' }, ...options.config },
    facilitator: {
      abilities: async () => ({ uptoBy: payTo }),
      verify: async () => ({ ok: true }),
      settle: moves,
      ...options.facilitator,
    },
    priceOf: () => shown.price,
    now: Date.now,
    crashPoint() {},
    log() {},
  })
  t.after(() => desk.stop())
  const limits = new WorkLimits(engine)
  /** The engine of the caller that makes this request. */
  const paid: PaidFor = (made, over) =>
    new PaidEngine(engine, limits, { owner: made.owner, payment: made, ...over }, desk)
  return { engine, desk, paid, shown }
}

/** One request over HTTP. `header`: its payment. */
export function request(over: { owner?: string; body?: string; header?: string; path?: string } = {}) {
  const { owner = wallet, body = '{}', header, path = '/v1/responses' } = over
  const made = new PaidRequest({
    ...{ owner, payable: !path.endsWith('/sessions'), method: 'POST', path, url: `http://shop${path}` },
    header: name => (name === 'payment-signature' ? header : undefined),
    setHeader() {},
    isAnswering: () => false,
  })
  made.takeBody([Buffer.from(body)])
  return made
}

export const newNonce = (): string => `0x${randomBytes(32).toString('hex')}`
export const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

/** A payment for what is offered now. */
export async function payment(
  desk: PaymentDesk,
  { nonce = newNonce(), validUntil = inSeconds(600) } = {},
): Promise<string> {
  const asking = request()
  await assert.rejects(desk.admit(asking, wallet, { agent: 'helper' }), { code: 'payment_required' })
  const text = Buffer.from(asking.refusal?.headers['PAYMENT-REQUIRED'] ?? '', 'base64').toString()
  const { accepts } = JSON.parse(text) as { accepts: { amount: string; scheme: string }[] }
  const [accepted] = accepts
  assert.ok(accepted)
  const value = accepted.amount
  const payload =
    accepted.scheme === 'upto'
      ? {
          signature: '0x01',
          permit2Authorization: {
            ...{ from: payer, permitted: { token: asset.address, amount: value } },
            ...{ nonce: BigInt(nonce).toString(), deadline: String(validUntil) },
          },
        }
      : {
          signature: '0x01',
          authorization: { from: payer, to: payTo, value, validBefore: String(validUntil), nonce },
        }
  return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64')
}

/** A new session with one turn, as a wire makes it. */
export async function turn(paid: PaidFor, made: PaidRequest, key?: string): Promise<string> {
  const engine = paid(made)
  const { session } = await engine.create({
    ...{ owner: made.owner, agent: 'helper', wire: 'test', seed: [] },
    settings: { tools: null, options: {}, clientTools: [] },
    ...(key !== undefined && { request: { key, hash: key } }),
  })
  await say(engine, made.owner, session)
  return session
}

export const say = (engine: Engine, owner: string, session: string) =>
  engine.command({ owner, session }, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hi' }] })

export async function records({ ledger }: PaymentDesk): Promise<PaymentRecord[]> {
  const found: PaymentRecord[] = []
  for await (const { record } of ledger.list()) found.push(record)
  return found
}

/** Once the only payment is in this state. */
export async function inState(
  desk: PaymentDesk,
  state: PaymentRecord['state'],
  open?: boolean,
): Promise<PaymentRecord> {
  for (let tries = 0; tries < 400; tries += 1) {
    const [record] = await records(desk)
    if (record?.state === state && record.open === (open ?? record.open)) return record
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`It is ${(await records(desk))[0]?.state}, not ${state}.`)
}
