export { OutboxEvents } from './outbox.events';
export { OutboxModule } from './outbox.module';
export type { OutboxModuleOptions } from './outbox.options';
export { OutboxService } from './outbox.service';
export { outboxTableSql } from './outbox.table';
export type { OutboxStats, SqlQuery } from './outbox.types';
