package com.acme;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.Multimap;
import java.util.Comparator;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** Sheds the busiest bundle from the busiest broker, without checking that the broker owns it. */
public class HastyShedder implements LoadSheddingStrategy {

    @Override
    public Multimap<String, String> findBundlesForUnloading(LoadData load, ServiceConfiguration conf) {
        Multimap<String, String> chosen = ArrayListMultimap.create();
        load.getBrokerData().entrySet().stream()
                .filter(broker -> broker.getValue().getLocalData().getBundles().size() > 1)
                .max(Comparator.comparingDouble(broker -> traffic(broker.getValue())))
                .ifPresent(broker -> load.getBundleData().entrySet().stream()
                        .filter(bundle -> !load.getRecentlyUnloadedBundles().containsKey(bundle.getKey()))
                        .max(Comparator.comparingDouble(bundle -> traffic(bundle.getValue())))
                        .ifPresent(bundle -> chosen.put(broker.getKey(), bundle.getKey())));
        return chosen;
    }

    private static double traffic(BrokerData broker) {
        return broker.getLocalData().getMsgThroughputIn() + broker.getLocalData().getMsgThroughputOut();
    }

    private static double traffic(BundleData bundle) {
        return bundle.getShortTermData().getMsgThroughputIn() + bundle.getShortTermData().getMsgThroughputOut();
    }
}
