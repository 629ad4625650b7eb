// Runs all programs of docs/migrate, those of frameworks that are not in the product's lock too: npm run test:migrate
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { migratePrograms, played } from '../../test/docs/migrate-programs.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const ownRoot = fileURLToPath(new URL('../..', import.meta.url))

for (const program of migratePrograms())
  test(`${program.page}: ${program.of}`, async () => {
    const isApart = program.of === 'LangGraph' || program.of === 'Mastra'
    const { status, printed, expected, refused, complaints } = await played(program, isApart ? here : ownRoot)
    assert.deepEqual([status, printed, refused], [0, expected, 0], complaints)
  })
