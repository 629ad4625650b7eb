// A walk through the console as a stranger takes it: each step finds what it needs by words that can be seen, as they stand on the
// screen, and never by a class or an address. The time of a walk is printed, not judged: machines differ.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { root } from '../cli/rig.ts'

const controls =
  'a:visible, button:visible, summary:visible, [role="tab"]:visible, label:has(input[type="checkbox"]):visible'

/** With WALK_PICTURES=1 a picture of each walk is kept. */
const keepsPictures = process.env['WALK_PICTURES'] === '1'

export class Walk {
  readonly page: Page
  #steps = 0
  #seen: Locator | undefined
  #hasPicture = false
  readonly #from = performance.now()

  constructor(page: Page) {
    this.page = page
  }

  /** Presses what says this. A text has to be the whole of it, a pattern a part. */
  async press(words: string | RegExp): Promise<void> {
    this.#steps += 1
    const hasText = typeof words === 'string' ? new RegExp(`^\\s*${literal(words)}\\s*$`) : words
    await this.#within().locator(controls).filter({ hasText }).first().click()
  }

  /** Fills in the field beside these words, or in which they stand. */
  async write(words: string | RegExp, text: string): Promise<void> {
    this.#steps += 1
    const fields = this.page.getByLabel(words).and(this.page.locator(':is(input, textarea):visible'))
    await fields.first().waitFor()
    const labels = this.page.locator('label:visible').filter({ hasText: words })
    if ((await labels.count()) === 0)
      assert.match((await fields.first().getAttribute('placeholder')) ?? '', pattern(words))
    await fields.first().fill(text)
  }

  /** Chooses in the list that offers this. */
  async choose(words: string): Promise<void> {
    this.#steps += 1
    const list = this.page
      .locator('select:visible')
      .filter({ has: this.page.locator('option', { hasText: pattern(words) }) })
    await list.first().selectOption({ label: words })
  }

  /** Waits until this can be read. */
  async see(words: string | RegExp): Promise<void> {
    this.#seen = this.#readable(words).first()
    await this.#seen.waitFor()
  }

  /** Waits until it can be read so many times, and no more. */
  async seeOnly(count: number, words: string | RegExp): Promise<void> {
    const readable = this.#readable(words)
    if (count > 0) await readable.nth(count - 1).waitFor()
    await readable.nth(count).waitFor({ state: 'detached' })
  }

  /** `name`: of its picture, and in the line that tells its time. */
  async end(t: TestContext, name: string): Promise<void> {
    const seconds = ((performance.now() - this.#from) / 1000).toFixed(1)
    t.diagnostic(`${name}: ${this.#steps} steps, ${seconds} s`)
    await this.#settle()
    if (!this.#hasPicture) await this.picture(name)
  }

  /** Keeps what is seen now as the walk's picture. Without it that is its last sight. */
  async picture(name: string): Promise<void> {
    this.#hasPicture = true
    await this.#settle()
    await this.#seen?.scrollIntoViewIfNeeded()
    // The pointer's own marks do not belong to the picture.
    await this.page.mouse.move(0, 0)
    const path = join(root, `docs/screenshots/walk-${name.replaceAll(' ', '-')}.png`)
    const picture = await this.page.screenshot({ animations: 'disabled', ...(keepsPictures && { path }) })
    assert.ok(picture.length > 10_000, 'there is something to see')
  }

  /** Waits until the page has all that it asked for. No part of it may say that it failed. */
  async #settle(): Promise<void> {
    await this.page.locator('.loading').first().waitFor({ state: 'detached' })
    const alerts = await this.page.getByRole('alert').filter({ visible: true }).allInnerTexts()
    assert.deepEqual(alerts, [], 'what the page complains about')
  }

  /** What stands behind an open dialog is out of reach. */
  #within(): Locator {
    return this.page.locator('dialog[open]').or(this.page.locator('body:not(:has(dialog[open]))'))
  }

  #readable(words: string | RegExp): Locator {
    return this.page.getByText(words).filter({ visible: true })
  }
}

function literal(words: string): string {
  return words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function pattern(words: string | RegExp): RegExp {
  return typeof words === 'string' ? new RegExp(literal(words)) : words
}
