// The gateway of the rival in Moleculer: moleculer-web with its authorization, which calls the service's action over
// NATS.
import { createVerifier } from 'fast-jwt';
import { ServiceBroker, type Context } from 'moleculer';
import ApiService from 'moleculer-web';
import type { IncomingMessage, Server } from 'node:http';
import { bodyBytesMax, path, settings } from '../settings.ts';
import { brokerOptions, type Meta } from './broker.ts';

const verify = createVerifier({ key: settings.secret, algorithms: ['HS256'] });

const broker = new ServiceBroker(brokerOptions('gateway'));
const api = broker.createService({
  name: 'api',
  mixins: [ApiService],
  settings: {
    ip: '127.0.0.1',
    port: 0,
    routes: [
      {
        path: '/',
        authorization: true,
        bodyParsers: { json: { limit: bodyBytesMax } },
        mappingPolicy: 'restrict',
        aliases: { [`POST ${path}`]: 'suppliers.push' },
      },
    ],
  },
  methods: {
    authorize(context: Context<unknown, Meta>, _route: unknown, request: IncomingMessage) {
      const [type, token = ''] = request.headers.authorization?.split(' ') ?? [];
      const { UnAuthorizedError } = ApiService.Errors;
      if (type !== 'Bearer') throw new UnAuthorizedError('NO_TOKEN', null);
      try {
        context.meta.integration = verify(token).integration_id;
      } catch {
        throw new UnAuthorizedError('INVALID_TOKEN', null);
      }
    },
  },
});
await broker.start();
await broker.waitForServices('suppliers');
process.on('disconnect', () => process.exit());
const server: Server = Reflect.get(api, 'server');
const address = server.address();
if (address !== null && typeof address === 'object') process.send?.(`http://127.0.0.1:${address.port}`);
