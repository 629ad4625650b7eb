// A picture of the page, scaled to the size of the display that the model was told.
import type { Page } from 'playwright-core'
import type { Action } from './action.ts'
import { masked } from './mask.ts'
import type { BrowserSettings } from './options.ts'

const attempts = 3

/** `region`: a part of the display, which fills the picture. Undefined: the page cannot be shown now. */
export async function screenshot(
  page: Page,
  settings: BrowserSettings,
  region?: Action['region'],
): Promise<string | undefined> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await masked(page, settings, () => capture(page, settings, region))
    } catch {
      // A page that is just being replaced has no picture.
      await page.waitForTimeout(100).catch(() => {})
    }
  }
  return undefined
}

async function capture(
  page: Page,
  { display, viewport }: BrowserSettings,
  region: Action['region'],
): Promise<string> {
  const scaleX = viewport.width / display.width
  const scaleY = viewport.height / display.height
  const [left, top, right, bottom] = region ?? [0, 0, display.width, display.height]
  const width = Math.max((right - left) * scaleX, 1)
  const height = Math.max((bottom - top) * scaleY, 1)
  const scale = Math.min(display.width / width, display.height / height)
  const client = await page.context().newCDPSession(page)
  try {
    // A clip counts from the beginning of the page, also if that is scrolled away.
    const { cssVisualViewport: seen } = await client.send('Page.getLayoutMetrics')
    const clip = { x: seen.pageX + left * scaleX, y: seen.pageY + top * scaleY, width, height }
    const { data } = await client.send('Page.captureScreenshot', {
      format: 'png',
      clip: { ...clip, scale },
      captureBeyondViewport: false,
    })
    return `data:image/png;base64,${data}`
  } finally {
    await client.detach().catch(() => {})
  }
}
