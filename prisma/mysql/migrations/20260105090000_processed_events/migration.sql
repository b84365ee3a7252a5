-- CreateTable
CREATE TABLE `processed_events` (
    `source` VARBINARY(255) NOT NULL,
    `event_id` VARBINARY(255) NOT NULL,
    `event_type` VARCHAR(255) NOT NULL,
    `received_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),

    INDEX `processed_events_received_at_idx`(`received_at`),
    PRIMARY KEY (`source`, `event_id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
