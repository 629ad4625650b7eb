// A server on a slow disk is killed under load, again and again: every turn that was answered is there after the next
// start, once and in order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attacked, attacked, attackFolder, script } from './attack-rig.ts'
import { tryFaultyDisk } from './faulty-disk.ts'

const KILLS = 4
const CLIENTS = 8
const ANSWERS_BEFORE_KILL = 24

/** The numbers of the turns of a session, as its history has them. */
async function turnsIn(server: Attacked, session: string): Promise<number[]> {
  const { status, text } = await server.send({ path: `/sessions/${session}/history?type=full` })
  assert.equal(status, 200, text)
  return [...text.matchAll(/turn-(\d+)-is-said/g)].map(([, number]) => Number(number))
}

function messageOf(turn: number): string {
  return script({ text: `turn-${turn}-is-said`, calls: [{ name: 'give', input: { bytes: 3 } }] })
}

/** Takes turns in every session until enough were answered, then kills the server. Notes each answered turn. */
async function loadUntilKilled(server: Attacked, answered: Map<string, number[]>, next: () => number) {
  let left = ANSWERS_BEFORE_KILL
  const takeTurns = async (session: string, turns: number[]): Promise<void> => {
    while (left > 0) {
      const turn = next()
      const answer = await server.turn(session, messageOf(turn)).catch(() => undefined)
      if (answer === undefined) return
      // A turn that the last kill cut off may be at work again.
      if (answer.status === 409) continue
      assert.equal(answer.status, 200, answer.text)
      turns.push(turn)
      if (--left === 0) await server.stop('SIGKILL')
    }
  }
  await Promise.all([...answered].map(([session, turns]) => takeTurns(session, turns)))
}

test(`after each of ${KILLS} kills under load on a slow disk, every answered turn is there once`, async t => {
  const found = tryFaultyDisk(t)
  if (typeof found === 'string') t.diagnostic(`${found}; killed on the disk as it is`)
  const disk = typeof found === 'string' ? { env: {}, set: () => {} } : found
  const folder = attackFolder(t)
  const answered = new Map<string, number[]>()
  let turn = 0
  for (let kill = 0; kill <= KILLS; kill += 1) {
    disk.set({})
    const server = await attacked(t, { folder, env: disk.env })
    for (let client = answered.size; client < CLIENTS; client += 1) answered.set(await server.session(), [])
    for (const [session, turns] of answered) {
      const found = await turnsIn(server, session)
      // A message says its number once, and so does the answer that the script gives to it.
      const once = [...new Set(found)]
      assert.deepEqual(
        once.filter(number => turns.includes(number)),
        turns,
        `${session} has lost a turn, or has it in another order`,
      )
      for (const number of turns)
        assert.equal(found.filter(each => each === number).length, 2, `turn ${number} is not there once`)
    }
    if (kill === KILLS) return
    disk.set({ syncMs: 5 + 20 * kill })
    await loadUntilKilled(server, answered, () => ++turn)
  }
})
