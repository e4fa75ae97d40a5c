// A route that returns the CPU time that the process of a server has used, which a bench asks before and after its requests.
import { createRequire } from 'node:module';

const { Controller, Get } = createRequire(import.meta.url)('@nestjs/common');

export class UsageController {
  usage() {
    const { user, system } = process.cpuUsage();
    return { cpuMicros: user + system };
  }
}
Controller('usage')(UsageController);
Get()(UsageController.prototype, 'usage', Object.getOwnPropertyDescriptor(UsageController.prototype, 'usage'));
