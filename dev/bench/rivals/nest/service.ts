// The service of the rival in NestJS: a microservice on the NATS transport that validates each item, and job.ts.
import 'reflect-metadata';
import { Controller, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { openJob, type Checked, type Job, type PushAnswer } from '../job.ts';
import { settings } from '../settings.ts';
import { pushPattern, type PushMessage } from './names.ts';
import { SupplierSchema } from './schemas.ts';

const JOB = Symbol('job');

@Controller()
class SuppliersController implements OnModuleDestroy {
  constructor(@Inject(JOB) private readonly job: Job) {}

  @MessagePattern(pushPattern)
  push(@Payload() { integration, suppliers }: PushMessage): Promise<PushAnswer> {
    return this.job.push(integration, suppliers.map(check));
  }

  onModuleDestroy(): Promise<void> {
    return this.job.close();
  }
}

function check(item: unknown): Checked {
  const { success, data, error } = SupplierSchema.safeParse(item);
  if (success) return { supplier: data };
  const externalId = Reflect.get(Object(item), 'externalId');
  return {
    externalId: String(externalId ?? ''),
    error: error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
  };
}

@Module({ controllers: [SuppliersController], providers: [{ provide: JOB, useFactory: openJob }] })
class ServiceModule {}

const app = await NestFactory.createMicroservice<MicroserviceOptions>(ServiceModule, {
  transport: Transport.NATS,
  options: { servers: [settings.nats], queue: settings.name },
  logger: ['error'],
});
await app.listen();
process.on('disconnect', () => process.exit());
process.send?.('ready');
