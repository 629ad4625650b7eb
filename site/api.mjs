// The API reference, made from the types and comments of what package.json exports.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Application } from 'typedoc'
import { content } from './content.mjs'
import { root } from './pages.mjs'

/** By the name under which a program imports it: its file, and what it is for. */
export const modules = {
  turnwire: {
    file: 'src/index.ts',
    about: 'The library: configurations, tools, models, sessions, stores, a server.',
  },
  'turnwire/client': {
    file: 'src/client/index.ts',
    about: 'For applications that talk to a server. Runs in a browser.',
  },
  'turnwire/react': { file: 'src/react/index.ts', about: 'Hooks and parts for React 18 and 19.' },
  'turnwire/vue': { file: 'src/vue/index.ts', about: 'A composable for Vue 3.' },
  'turnwire/testing': {
    file: 'src/testing/index.ts',
    about: 'Doubles of the vendors’ APIs, and suites for your own stores and tools.',
  },
  'turnwire/payments': {
    file: 'src/client/payments.ts',
    about: 'A `fetch` that pays, for clients of paid agents.',
  },
  'turnwire/extend': { file: 'src/extend.ts', about: 'For builders of model protocols and logs.' },
}

export async function writeReference() {
  const app = await Application.bootstrapWithPlugins({
    name: 'API',
    entryPoints: Object.values(modules).map(({ file }) => join(root, file)),
    tsconfig: join(root, 'site/api.tsconfig.json'),
    plugin: ['typedoc-plugin-markdown'],
    outputs: [{ name: 'markdown', path: join(content, 'api') }],
    readme: 'none',
    entryFileName: 'index.md',
    outputFileStrategy: 'members',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    propertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    excludePrivate: true,
    excludeInternal: true,
    disableSources: true,
    skipErrorChecking: true,
    validation: false,
    logLevel: 'Error',
  })
  const project = await app.convert()
  if (!project) throw new Error('The API reference could not be made.')
  for (const child of project.children ?? []) {
    const name = Object.entries(modules).find(
      ([, { file }]) => file === `src/${child.name}.ts` || file === `src/${child.name}/index.ts`,
    )?.[0]
    if (name) child.name = name
  }
  await app.generateOutputs(project)
  const folder = join(content, 'api')
  if (!existsSync(join(folder, 'index.md'))) throw new Error('The API reference was not written.')
  writeFileSync(join(folder, 'index.md'), firstPage())
  // Pages have no HTML, so the anchors of table rows go.
  for (const file of globSync('**/*.md', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), text.replaceAll(/<a id="[^"]*"><\/a> ?/g, ''))
  }
}

/** The doors of the package, in the order in which a reader needs them. */
function firstPage() {
  const rows = Object.entries(modules).map(
    ([name, { about }]) => `| [${name}](${name}/index.md) | ${about} |`,
  )
  return [
    '# API',
    '',
    'Made from the types and their comments. The guides say how the parts are used together: start with [the library](../guide/library.md).',
    '',
    '| import from | what it is |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n')
}
