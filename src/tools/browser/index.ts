// A browser for models: Chromium through playwright-core, which is loaded when the first page is opened.
export { browser } from './browser.ts'
export type { BrowserOptions } from './options.ts'
