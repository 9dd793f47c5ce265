// The gateway of the rival in NestJS: HTTP by the Fastify adapter, a guard for tokens, and a client of the NATS
// transport.
import 'reflect-metadata';
import {
  Body,
  Controller,
  HttpCode,
  Inject,
  Injectable,
  Module,
  PayloadTooLargeException,
  BadRequestException,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JwtModule, JwtService } from '@nestjs/jwt';
import { ClientsModule, Transport, type ClientProxy } from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Observable } from 'rxjs';
import type { PushAnswer } from '../job.ts';
import { bodyBytesMax, itemsMax, path, settings } from '../settings.ts';
import { pushPattern, type PushMessage } from './names.ts';

const SERVICE = Symbol('service');

interface Caller {
  headers: { authorization?: string };
  integration?: string;
}

@Injectable()
class TokenGuard implements CanActivate {
  constructor(private readonly tokens: JwtService) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Caller>();
    const [type, token = ''] = request.headers.authorization?.split(' ') ?? [];
    if (type !== 'Bearer') throw new UnauthorizedException();
    try {
      const claims = await this.tokens.verifyAsync<{ integration_id: string }>(token);
      request.integration = claims.integration_id;
    } catch {
      throw new UnauthorizedException();
    }
    return true;
  }
}

@Controller()
@UseGuards(TokenGuard)
class SuppliersController {
  constructor(@Inject(SERVICE) private readonly service: ClientProxy) {}

  @Post(path)
  @HttpCode(200)
  push(@Req() caller: Caller, @Body() body: { suppliers?: unknown }): Observable<PushAnswer> {
    const { suppliers } = body;
    if (!Array.isArray(suppliers)) throw new BadRequestException();
    if (suppliers.length > itemsMax) throw new PayloadTooLargeException();
    const message = { integration: caller.integration ?? '', suppliers };
    return this.service.send<PushAnswer, PushMessage>(pushPattern, message);
  }
}

@Module({
  imports: [
    JwtModule.register({ secret: settings.secret, verifyOptions: { algorithms: ['HS256'] } }),
    ClientsModule.register([
      { name: SERVICE, transport: Transport.NATS, options: { servers: [settings.nats] } },
    ]),
  ],
  controllers: [SuppliersController],
})
class GatewayModule {}

const app = await NestFactory.create<NestFastifyApplication>(
  GatewayModule,
  new FastifyAdapter({ bodyLimit: bodyBytesMax }),
  { logger: ['error'] },
);
await app.listen(0, '127.0.0.1');
process.on('disconnect', () => process.exit());
process.send?.(await app.getUrl());
