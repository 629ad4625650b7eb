// Loaded before `serve` in the process that `dev` starts: tells `dev` which files of the operator are loaded, so that it watches them. The
// files of this package and of others are left out. When `dev` is gone, the server stops too.
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const own = new URL('..', import.meta.url).href

registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:') && !url.startsWith(own) && !url.includes('/node_modules/'))
      process.send?.(fileURLToPath(url))
    return next(url, context)
  },
})
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
