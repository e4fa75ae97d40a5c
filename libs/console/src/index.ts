export { ConsoleModule } from './console.module';
export type { ConsoleModuleOptions } from './console.options';
