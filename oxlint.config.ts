// The linter's rules, and with them the borders between rooms. An override replaces a rule as a whole, so each border is
// one constant here, and a room's rule is put together of all borders that hold for it: none gets lost on the way.
import type { OxlintConfig } from 'oxlint';

interface Border {
  group: string[];
  message: string;
}

const nats: Border = {
  group: ['@nats-io/*', 'nats'],
  message: "Only shared/runtime's bus speaks to NATS: import @integration-sync/runtime/bus.",
};
const mongodb: Border = {
  group: ['mongodb'],
  message: "Only shared/runtime's store opens MongoDB: import @integration-sync/runtime/store.",
};
const opentelemetry: Border = {
  group: ['@opentelemetry/*'],
  message: "Only shared/runtime's tracing knows OpenTelemetry: import @integration-sync/runtime/tracing.",
};
const services = ['gateway', 'catalog', 'batches', 'webhooks', 'ops'].map(
  (name) => `@integration-sync/${name}`,
);
const otherServices: Border = {
  group: services.flatMap((name) => [name, `${name}/*`]),
  message:
    'No service imports another; they talk over the bus: import @integration-sync/runtime/bus, and subjects and records from @integration-sync/contracts.',
};
const servicesOfOps: Border = {
  group: services
    .flatMap((name) => [name, `${name}/*`, `!${name}/operating`])
    .concat('!@integration-sync/webhooks/config'),
  message:
    'Operators’ commands enter a service by its door for them, such as @integration-sync/catalog/operating.',
};
const localStack: Border = {
  group: ['@integration-sync/dev', '@integration-sync/dev/*', '@integration-sync/test'],
  message:
    'What runs in production does not import the local stack or the tests: move what both need behind a door of shared/runtime, such as @integration-sync/runtime/json.',
};
const doors: Border = {
  group: ['../**/src/**', '**/services/**', '**/shared/**'],
  message:
    'Rooms are entered by their doors, never by a relative path: import what `exports` of the room’s package.json names, such as @integration-sync/runtime/config.',
};
const pushes: Border = {
  group: ['@integration-sync/sync'],
  message:
    'Only catalog and batches push records: ask them over @integration-sync/runtime/bus, by the subjects of @integration-sync/contracts.',
};
const pureContracts: Border = {
  group: ['node:*', '@integration-sync/**'],
  message:
    'Contracts are pure: no IO, and nothing of the other rooms. What does IO stands behind a door of shared/runtime, such as @integration-sync/runtime/json.',
};

/** The client and the loader run at the callers', and know the service by its interface alone. */
const outside: Border = {
  group: ['@integration-sync/*', '@integration-sync/*/**', '!@integration-sync/client'],
  message:
    'What runs at callers knows of this service what callers know: import @integration-sync/client, which has the types.',
};
/** The console runs in browsers, and takes the shapes of the interface from the contracts. */
const ofConsole: Border = {
  group: ['node:*', '@integration-sync/*', '@integration-sync/*/**', '!@integration-sync/contracts'],
  message:
    'The console is a customer of the public interface: import types of @integration-sync/contracts, and no code.',
};
/** Their own bundles have the loader's core; the page fetches them only for the view *Load a file*. */
const loaderInPages: Border = {
  group: [
    'node:*',
    '@integration-sync/*',
    '@integration-sync/*/**',
    '!@integration-sync/client',
    'integration-sync',
  ],
  message:
    'The view *Load a file* has the loader’s core: import integration-sync/core, integration-sync/browser and @integration-sync/client.',
};
const laterOnly: Border = {
  group: ['integration-sync', 'integration-sync/*'],
  message:
    'The loader’s core is in bundles of its own: only console/src/load imports it. Other views take types of @integration-sync/contracts.',
};
/** The loader's core has what a page can have too: `#platform` is all that it knows of the machine. */
const everyMachine: Border = {
  group: ['node:*', 'buffer', 'iconv-lite', '**/platform/**', '!**/core/platform.ts'],
  message:
    'The core of the loader runs in pages as well: ask `#platform` (core/platform.ts), which platform/node.ts and platform/browser.ts fill.',
};
const everyPlatform: Border = {
  group: ['node:*', '@integration-sync/**'],
  message:
    'The client runs in browsers as well, and is a package alone: npm run generate writes the types of @integration-sync/contracts into it.',
};

/** These hold for all that runs in production. */
const everywhere: readonly Border[] = [nats, mongodb, opentelemetry, otherServices, localStack, doors];
const everywhereBut = (lifted?: Border): Border[] => everywhere.filter((border) => border !== lifted);

const ofLoader: readonly Border[] = [outside, nats, mongodb, opentelemetry, doors];

const refuse = (...borders: Border[]) => ({
  'eslint/no-restricted-imports': ['error', { patterns: borders }] as ['error', { patterns: Border[] }],
});

/** What callers ask for may concern every stage of a delivery. */
const roomsOfApi = [
  'secrets',
  'streams.ts',
  'endpoints',
  'sending',
  'metrics.ts',
  'owning',
  'matching',
  'log',
  'delivering',
];

/**
 * The rooms of webhooks, the lowest first. A room may import those that are named with it, which all stand before it,
 * and no other. Three of them are single files.
 */
const webhooksRooms = {
  secrets: [],
  'streams.ts': [],
  log: [],
  endpoints: ['secrets', 'log'],
  sending: ['secrets', 'endpoints'],
  'metrics.ts': ['sending'],
  matching: ['log', 'endpoints'],
  owning: ['log'],
  feed: ['secrets', 'log'],
  delivering: ['streams.ts', 'log', 'endpoints', 'sending', 'metrics.ts', 'matching', 'owning'],
  api: roomsOfApi,
  'config.ts': ['secrets', 'sending'],
  'pipeline.ts': roomsOfApi,
  // What operators' commands do; the wiring alone imports it.
  operating: ['secrets', 'streams.ts', 'log', 'endpoints'],
} satisfies Record<string, string[]>;

/** The rooms of shared/sync in the same way, the lowest first. Each may also import the files beside them. */
const syncRooms = {
  items: [],
  records: ['items'],
  journal: ['items'],
  announcing: ['items', 'records', 'journal'],
  'engine.ts': ['items', 'records', 'journal', 'announcing'],
  pushing: ['items', 'records', 'journal', 'announcing', 'engine.ts'],
  listing: ['items', 'records', 'journal', 'engine.ts'],
  recovery: ['records', 'journal', 'announcing', 'engine.ts', 'pushing'],
} satisfies Record<string, string[]>;

const isFile = (room: string): boolean => /\.tsx?$/.test(room);

/** A package whose `src` has rooms: folders, and the files that stand between them. */
export interface House {
  folder: string;
  name: string;
  /** What each room may import, the lowest first. */
  rooms: Readonly<Record<string, readonly string[]>>;
  /** These may import every room, and no room imports them. */
  top: readonly string[];
  /** What else a room may not import. */
  bordersOf: (room: string) => readonly Border[];
}

const linesOf = ({ folder, name, rooms, top, bordersOf }: House) =>
  Object.entries(rooms).map(([room, open]) => {
    const refused = Object.keys(rooms).filter((other) => other !== room && !open.includes(other));
    const border: Border = {
      group: [...refused, ...top].map((other) => (isFile(other) ? `**/${other}` : `**/${other}/**`)),
      message: `${room} of ${name} may import ${open.length === 0 ? 'no other room' : open.join(', ')}: move what both need there, or have ${top[0]} hand it over.`,
    };
    const files = [`${folder}/${isFile(room) ? room : `${room}/**`}`];
    return { files, rules: refuse(...bordersOf(room), border) };
  });

/** The border that each of these rooms alone may cross. */
const liftedOfRuntime: Readonly<Record<string, Border>> = {
  bus: nats,
  store: mongodb,
  tracing: opentelemetry,
};

export const houses: readonly House[] = [
  {
    folder: 'services/webhooks/src',
    name: 'webhooks',
    rooms: webhooksRooms,
    top: ['service.ts', 'main.ts'],
    bordersOf: () => [...everywhere, pushes],
  },
  {
    folder: 'services/gateway/src',
    name: 'gateway',
    rooms: {
      body: [],
      tokens: [],
      clients: ['tokens'],
      server: ['body', 'tokens'],
      oauth: ['body', 'tokens', 'clients', 'server'],
      openapi: ['oauth'],
      asyncapi: ['openapi'],
      operating: ['clients'],
    },
    top: ['service.ts', 'main.ts', 'routing.ts', 'forward.ts', 'authentication.ts', 'pages.ts'],
    bordersOf: () => [...everywhere, pushes],
  },
  {
    folder: 'services/catalog/src',
    name: 'catalog',
    rooms: { expectations: [] },
    top: ['service.ts', 'main.ts', 'suppliers.ts', 'products.ts', 'runs.ts'],
    bordersOf: () => everywhere,
  },
  {
    folder: 'services/ops/src',
    name: 'ops',
    rooms: { client: [], purge: [], streams: [] },
    top: ['run.ts', 'main.ts'],
    bordersOf: () => [...everywhereBut(otherServices), servicesOfOps, pushes],
  },
  {
    folder: 'shared/contracts/src',
    name: 'contracts',
    rooms: { routes: [] },
    top: ['index.ts', 'endpoint-metadata.ts'],
    bordersOf: () => [...everywhere, pureContracts],
  },
  {
    folder: 'shared/sync/src',
    name: 'sync',
    rooms: syncRooms,
    top: ['record-service.ts', 'index.ts'],
    bordersOf: () => everywhere,
  },
  {
    folder: 'shared/runtime/src',
    name: 'runtime',
    rooms: {
      config: [],
      tracing: ['config'],
      bus: ['config', 'tracing'],
      store: ['config', 'tracing'],
    },
    top: ['resources.ts', 'health.ts', 'lifecycle.ts'],
    bordersOf: (room) => everywhereBut(liftedOfRuntime[room]),
  },
  {
    folder: 'loader/src',
    name: 'loader',
    rooms: {
      core: [],
      platform: ['core'],
      disk: ['core'],
      singer: ['core', 'disk'],
      mcp: ['core'],
      commands: ['core', 'platform', 'disk', 'singer', 'mcp'],
    },
    top: ['main.ts', 'run.ts'],
    bordersOf: (room) => [...ofLoader, ...(room === 'core' ? [everyMachine] : [])],
  },
  {
    folder: 'console/src',
    name: 'console',
    rooms: {
      api: [],
      text: ['api'],
      state: ['api', 'text'],
      parts: ['api', 'text', 'state'],
      load: ['api', 'text', 'state', 'parts'],
      views: ['api', 'text', 'state', 'parts', 'load'],
    },
    top: ['app.tsx', 'main.tsx'],
    bordersOf: (room) => (room === 'load' ? [loaderInPages, doors] : [ofConsole, laterOnly, doors]),
  },
];

export default {
  plugins: ['typescript', 'import', 'promise', 'node', 'unicorn', 'oxc', 'vitest'],
  categories: {
    correctness: 'error',
    suspicious: 'error',
    perf: 'warn',
  },
  options: { typeAware: true },
  // Their packages are installed by the benchmark alone, which compiles them; without those no rule knows a type.
  ignorePatterns: ['dev/bench/rivals/**'],
  rules: {
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'import/no-default-export': 'error',
    // Files stand in an order, and an import of a type keeps to it as well.
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'eslint/no-await-in-loop': 'off',
    'eslint/no-underscore-dangle': 'off',
    'eslint/no-console': 'error',
    'promise/always-return': 'off',
    ...refuse(...everywhere),
  },
  overrides: [
    {
      files: ['services/*/src/**', 'shared/*/src/**', 'client/src/**', 'loader/src/**', 'console/src/**'],
      rules: {
        'eslint/max-lines': ['error', { max: 400 }],
        'eslint/max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      },
    },
    {
      // What these open is one state and the functions over it, each of which fits a screen.
      files: ['shared/runtime/src/bus/follow-stream.ts', 'console/src/state/feed.ts'],
      rules: {
        'eslint/max-lines-per-function': ['error', { max: 220, skipBlankLines: true, skipComments: true }],
      },
    },
    // It is generated.
    { files: ['client/src/types.ts'], rules: { 'eslint/max-lines': 'off' } },
    {
      files: ['console/**'],
      rules: {
        ...refuse(ofConsole, laterOnly, doors),
        // A BroadcastChannel takes no origin: it has its own.
        'unicorn/require-post-message-target-origin': 'off',
      },
    },
    { files: ['client/**'], rules: refuse(everyPlatform, doors) },
    { files: ['loader/**'], rules: refuse(...ofLoader) },
    {
      files: ['loader/src/core/**', 'loader/src/platform/browser.ts'],
      rules: {
        'eslint/no-restricted-globals': ['error', 'Buffer', 'process', 'global', 'require', '__dirname'],
      },
    },
    { files: ['shared/contracts/**'], rules: refuse(...everywhere, pureContracts) },
    { files: ['services/gateway/**', 'services/webhooks/**'], rules: refuse(...everywhere, pushes) },
    {
      files: ['services/ops/**'],
      rules: refuse(...everywhereBut(otherServices), servicesOfOps, pushes),
    },
    ...houses.flatMap(linesOf),
    { files: ['loader/src/platform/browser.ts'], rules: refuse(...ofLoader, everyMachine) },
    {
      files: ['dev/**'],
      rules: {
        // By name only: what a service exports besides itself, such as its settings, is open to the local stack.
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [doors],
            paths: services.map((name) => ({
              name,
              message:
                'No service imports another, and the local stack starts them as processes of their own: import what a service exports beside itself, such as @integration-sync/gateway/config.',
            })),
          },
        ],
        'eslint/no-console': 'off',
      },
    },
    {
      files: ['test/**'],
      rules: {
        ...refuse(),
        'typescript/no-unsafe-type-assertion': 'off',
        'vitest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect*'] }],
      },
    },
    // What other services do, by the NATS client alone.
    { files: ['docs/readers/**'], rules: refuse() },
    { files: ['*.config.ts'], rules: { 'import/no-default-export': 'off' } },
  ],
} satisfies OxlintConfig;
