// Builds the documentation's site into site/dist: pages, then the API reference from the types, then VitePress, which fails for a
// link that leads nowhere. SITE_URL is where it will be (for llms.txt), SITE_BASE its path on that host.
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { writeReference } from './api.mjs'
import { writeContent } from './content.mjs'

writeContent(process.env.SITE_URL ?? '')
await writeReference()
await build(fileURLToPath(new URL('.', import.meta.url)))
