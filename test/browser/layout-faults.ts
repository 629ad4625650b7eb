// What is wrong with how a page is laid out, as a person would see it: it scrolls sideways, or words and buttons cover each other.
// It runs in the page.
import type { Page } from 'playwright-core'

/** Waits until the page is drawn at its width. */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    type Box = { left: number; top: number; right: number; bottom: number }
    type Drawn = { owner: Element; box: Box; words: string }
    /** Less is not seen: lines of a text are higher than their letters. */
    const slack = 4
    await document.fonts.ready
    for (let frames = 0; frames < 3; frames += 1) await new Promise(done => requestAnimationFrame(done))

    const cut = (one: Box, two: Box): Box => ({
      left: Math.max(one.left, two.left),
      top: Math.max(one.top, two.top),
      right: Math.min(one.right, two.right),
      bottom: Math.min(one.bottom, two.bottom),
    })
    const isSeen = ({ left, top, right, bottom }: Box): boolean =>
      right - left > slack && bottom - top > slack
    /** What is left of a box inside all that cuts it off. */
    const clip = (box: Box, owner: Element): Box => {
      let left = cut(box, { left: 0, top: 0, right: innerWidth, bottom: innerHeight })
      for (let at: Element | null = owner; at; at = at.parentElement) {
        const { overflowX, overflowY, clipPath } = getComputedStyle(at)
        if (overflowX !== 'visible' || overflowY !== 'visible' || clipPath !== 'none')
          left = cut(left, at.getBoundingClientRect())
      }
      return left
    }
    /** What stays in sight above what scrolls: it has a background, and hides that by intent. */
    const layerOf = (owner: Element): Element | undefined => {
      for (let at: Element | null = owner; at; at = at.parentElement) {
        const { position, boxShadow } = getComputedStyle(at)
        if (
          position === 'sticky' ||
          position === 'fixed' ||
          (position === 'absolute' && boxShadow !== 'none')
        )
          return at
      }
      return undefined
    }
    const say = (owner: Element, words: string): string =>
      `${owner.tagName.toLowerCase()}.${[...owner.classList].join('.')} “${words.trim().replace(/\s+/g, ' ').slice(0, 40)}”`

    const layer = document.querySelector('dialog[open]') ?? document.body
    const all: Drawn[] = []
    const add = (owner: Element, box: Box, words: string): void => {
      const seen = clip(box, owner)
      if (isSeen(seen)) all.push({ owner, box: seen, words })
    }
    const texts = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const owner = node.parentElement
      const words = node.textContent ?? ''
      if (
        !owner ||
        words.trim() === '' ||
        !owner.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      )
        continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const box of range.getClientRects()) add(owner, box, words)
    }
    for (const owner of layer.querySelectorAll('button, input, select, textarea, a.tw-button, summary'))
      if (owner.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        add(owner, owner.getBoundingClientRect(), owner.getAttribute('aria-label') ?? owner.textContent ?? '')

    const faults: string[] = []
    if (document.documentElement.scrollWidth > innerWidth)
      faults.push(`The page is ${document.documentElement.scrollWidth} wide.`)
    // Tables, code and tabs may scroll sideways in boxes of their own. The parts of a page may not.
    for (const part of document.querySelectorAll('#main, .page-scroll, .tw-scroll'))
      if (part.scrollWidth > part.clientWidth + 1)
        faults.push(`${say(part, '')} has ${part.clientWidth} pixels for a width of ${part.scrollWidth}.`)
    for (const [at, one] of all.entries())
      for (const two of all.slice(at + 1)) {
        if (one.owner.contains(two.owner) || two.owner.contains(one.owner)) continue
        if (isSeen(cut(one.box, two.box)) && layerOf(one.owner) === layerOf(two.owner))
          faults.push(`${say(one.owner, one.words)} and ${say(two.owner, two.words)} cover each other.`)
      }
    return faults
  })
}
