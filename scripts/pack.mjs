// Makes `npm pack` pack what can be installed. Before it packs, npm runs `pack.mjs before`: the build, and the package.json
// of the published package in place of the checkout's. After it, `pack.mjs after` puts the checkout's own back. So does
// the next `before`, if npm was killed in between. Publish the tarball: npm publish <file>.tgz
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const isCreate = process.argv[3] === 'create-turnwire'
const folder = isCreate ? `${root}create-turnwire/` : root
const manifest = `${folder}package.json`
const kept = `${folder}package.json.checkout`

/** The docs link to these pages. */
const pages = [
  'ARCHITECTURE.md',
  'CONTEXT.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
]

/** Pictures that no page shows stay in the checkout. */
function unusedPictures() {
  const texts = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).map(page =>
    readFileSync(root + page, 'utf8'),
  )
  return globSync('docs/screenshots/*.png', { cwd: root })
    .filter(picture => !texts.some(text => text.includes(basename(picture))))
    .map(picture => `!${picture}`)
}

function published(checkout) {
  const {
    scripts: _s,
    allowScripts: _a,
    devDependencies: _d,
    optionalDependencies: _o,
    overrides: _r,
    private: _p,
    ...rest
  } = checkout
  const built = path => path.replace('./src/', './dist/').replace(/\.ts$/, '.js')
  const exports = Object.fromEntries(
    Object.entries(rest.exports).map(([name, path]) => [
      name,
      path.endsWith('.ts')
        ? { types: built(path).replace(/\.js$/, '.d.ts'), default: built(path) }
        : built(path),
    ]),
  )
  return {
    ...rest,
    ...origin(),
    exports,
    files: ['bin', 'dist', 'deploy', 'docs', 'examples', '!**/.turnwire', ...unusedPictures(), ...pages],
    publishConfig,
  }
}

const publishConfig = { access: 'public', provenance: true }

function publishedCreate(manifest) {
  const { scripts: _, ...rest } = manifest
  const { repository, ...more } = origin()
  return {
    ...rest,
    ...more,
    ...(repository && { repository: { ...repository, directory: 'create-turnwire' } }),
    publishConfig,
  }
}

/** Where the sources are. npm accepts a provenance only from the repository that the package names, so it is the one that packs. */
function origin() {
  const remote = process.env.GITHUB_REPOSITORY
    ? `https://github.com/${process.env.GITHUB_REPOSITORY}`
    : gitRemote()
  if (remote === '') return {}
  const web = remote.replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, 'https://$1/').replace(/\.git$/, '')
  return {
    repository: { type: 'git', url: `git+${web}.git` },
    homepage: `${web}#readme`,
    bugs: { url: `${web}/issues` },
  }
}

function gitRemote() {
  const { stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { cwd: root, encoding: 'utf8' })
  return (stdout ?? '').trim()
}

function putBack() {
  if (existsSync(kept)) renameSync(kept, manifest)
}

putBack()
if (process.argv[2] === 'before') {
  if (!isCreate) {
    if (!existsSync(`${root}node_modules`)) await import('./install.mjs')
    await import('./build.mjs')
  }
  const text = readFileSync(manifest, 'utf8')
  const made = (isCreate ? publishedCreate : published)(JSON.parse(text))
  writeFileSync(kept, text)
  writeFileSync(manifest, `${JSON.stringify(made, null, 2)}\n`)
}
